import type { Dashboard } from '../src/dashboard/files';

export function buildDashboard(): Promise<Dashboard>;
export function moduleOf(dashboard: Dashboard): string;
