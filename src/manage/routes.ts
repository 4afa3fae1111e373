import { acknowledgeRoutes, actionsRoutes } from './actions-routes';
import { aboutRoutes, auditRoutes, layoutRoutes, pokeRoutes } from './about-routes';
import { backfillRoutes } from './backfill-routes';
import { jobsRoutes, timelineRoutes } from './jobs-routes';
import { metricsRoutes } from './metrics-routes';
import type { Route } from './route';
import { openApiRoute } from './openapi';
import { runsRoutes } from './runs-routes';

/** The route table: the server, the OpenAPI document, the reference page and the tests read it. */
export const ROUTES: readonly Route[] = [
  ...jobsRoutes,
  ...timelineRoutes,
  ...runsRoutes,
  ...actionsRoutes,
  ...acknowledgeRoutes,
  ...backfillRoutes,
  ...pokeRoutes,
  ...layoutRoutes,
  ...metricsRoutes,
  ...auditRoutes,
  ...aboutRoutes,
  openApiRoute(() => ROUTES),
];
