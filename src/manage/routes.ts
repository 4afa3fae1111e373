import { acknowledgeRoutes } from './acknowledge-routes';
import { aboutRoutes } from './about-routes';
import { actionsRoutes } from './actions-routes';
import { backfillRoutes } from './backfill-routes';
import { jobsRoutes } from './jobs-routes';
import { layoutRoutes } from './layout-routes';
import { timelineRoutes } from './timeline-routes';
import { metricsRoutes } from './metrics-routes';
import { auditRoutes } from './audit-routes';
import type { Route } from './route';
import { openApiRoute } from './openapi';
import { pokeRoutes } from './poke-routes';
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
