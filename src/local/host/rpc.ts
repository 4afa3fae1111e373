/**
 * The interface between a Functions host and the `@azure/functions` package: the parts of the virtual module
 * `@azure/functions-core` that a cronlease app uses.
 */

export type LogLevel = 'trace' | 'debug' | 'information' | 'warning' | 'error' | 'critical' | 'none';

export interface TypedData {
  readonly string?: string | null;
  readonly json?: string | null;
  readonly bytes?: Uint8Array | null;
  readonly int?: number | null;
  readonly double?: number | null;
  readonly http?: HttpData | null;
}

type Nullable<T> = { readonly value?: T | null } | null;

export interface HttpCookie {
  readonly name?: string | null;
  readonly value?: string | null;
  readonly domain?: Nullable<string>;
  readonly path?: Nullable<string>;
  readonly expires?: Nullable<{ readonly seconds?: number | null }>;
  readonly secure?: Nullable<boolean>;
  readonly httpOnly?: Nullable<boolean>;
  readonly sameSite?: 'none' | 'lax' | 'strict' | 'explicitNone' | null;
  readonly maxAge?: Nullable<number>;
}

export interface HttpData {
  readonly method?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>> | null;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: TypedData | null;
  readonly statusCode?: string | null;
  readonly cookies?: readonly HttpCookie[] | null;
}

/** One binding of a function: its type, its direction, and the options given at registration. */
export interface Binding {
  readonly type?: string | null;
  readonly direction?: 'in' | 'out' | 'inout' | null;
  readonly [option: string]: unknown;
}

export interface FunctionMetadata {
  readonly name: string;
  readonly functionId?: string;
  readonly bindings: Readonly<Record<string, Binding>>;
  readonly retryOptions?: unknown;
}

export type FunctionCallback = (...args: unknown[]) => unknown;

interface InvocationRequest {
  readonly invocationId: string;
  readonly functionId: string;
  readonly inputData: readonly { readonly name: string; readonly data: TypedData }[];
  readonly triggerMetadata: Readonly<Record<string, TypedData>>;
}

export interface InvocationResponse {
  readonly returnValue?: TypedData | null;
}

export interface CoreInvocationContext {
  readonly invocationId: string;
  readonly request: InvocationRequest;
  readonly metadata: FunctionMetadata;
  /** The model checks this: logging is allowed up to the hooks after an invocation, and not later. */
  state: 'preInvocationHooks' | 'invocation' | 'postInvocationHooks' | undefined;
  log(level: LogLevel, category: string, message: string): void;
}

interface InvocationModel {
  getArguments(): Promise<{ readonly context: unknown; readonly inputs: unknown[] }>;
  invokeFunction(context: unknown, inputs: unknown[], callback: FunctionCallback): Promise<unknown>;
  getResponse(context: unknown, result: unknown): Promise<InvocationResponse>;
}

export interface ProgrammingModel {
  readonly name: string;
  readonly version: string;
  getInvocationModel(context: CoreInvocationContext): InvocationModel | Promise<InvocationModel>;
  getCapabilities?(capabilities: Record<string, string>): Record<string, string> | Promise<Record<string, string>>;
}
