import { format, resolveConfig } from 'prettier';
import { openApiDocument } from '../src/manage/openapi';
import { ROUTES } from '../src/manage/routes';
import { VERSION } from '../src/version';

/** The file of the OpenAPI document, below the root. */
export const OPENAPI_FILE = 'schema/openapi.json';

/** The OpenAPI document as it is checked in. */
export async function openApiText(): Promise<string> {
  const text = JSON.stringify(openApiDocument(ROUTES, VERSION));
  return format(text, { ...(await resolveConfig(OPENAPI_FILE)), parser: 'json' });
}
