import { aboutRoutes } from './about-routes';
import { actionsRoutes } from './actions-routes';
import { jobsRoutes } from './jobs-routes';
import { openApiRoute } from './openapi';
import type { Route } from './route';
import { runsRoutes } from './runs-routes';

/** The route table: the server, the OpenAPI document, the reference page and the tests read it. */
export const ROUTES: readonly Route[] = [
  ...jobsRoutes,
  ...runsRoutes,
  ...actionsRoutes,
  ...aboutRoutes,
  openApiRoute(() => ROUTES),
];
