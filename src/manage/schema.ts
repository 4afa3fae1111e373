/** The schemas of the HTTP API: they check requests and answers, and the OpenAPI document is made from them. */
export * from './schema/common';
export * from './schema/about';
export * from './schema/jobs';
export * from './schema/runs';
export * from './schema/actions';
