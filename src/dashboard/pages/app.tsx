import { useEffect, useRef } from 'preact/hooks';
import { hasParam, pageOf, param } from '../data/address';
import { live, now, refresh } from '../data/live';
import { environment, environmentStyle, loadSession, session } from '../data/session';
import { nextTheme, theme } from '../data/theme';
import { ZONES } from '../data/time';
import { ActionDialog, News } from '../parts/action-dialog';
import { FailureHelp } from '../parts/help';
import { EnvironmentChip, Icon, Link, LoginLink, Select, sentence } from '../parts/parts';
import { AuditPage } from './audit-page';
import { DeploymentsPage } from './deployments-page';
import { HelpPage } from './help-page';
import { JobPage } from './job-page';
import { Overview } from './overview';
import { RunPage } from './run-page';
import { RunsPage } from './runs-page';
import { SkippedTimesDialog } from './skipped-times';
import { TimelinePage } from './timeline-page';

/** The pages beside that of all jobs. */
const VIEWS = [
  { name: 'runs', title: 'Runs', Page: RunsPage },
  { name: 'timeline', title: 'Timeline', Page: TimelinePage },
  { name: 'deployments', title: 'Deployments', Page: DeploymentsPage },
  { name: 'audit', title: 'Changes', Page: AuditPage },
  { name: 'help', title: 'Help', Page: HelpPage },
];

function page() {
  const run = param('run');
  if (run !== undefined) return { title: run, content: <RunPage key={run} id={run} /> };
  const job = param('job');
  if (job !== undefined) return { title: job, content: <JobPage key={job} name={job} /> };
  const { title, Page } = VIEWS.find(({ name }) => name === param('view')) ?? { title: 'Jobs', Page: Overview };
  return { title, content: <Page /> };
}

export function App() {
  const { title, content } = page();
  const main = useRef<HTMLElement>(null);
  const shown = useRef(title);
  const name = environment.value?.name;
  useEffect(() => {
    document.title = [title, name, 'cronlease'].filter((part) => part !== undefined).join(' · ');
    if (shown.current === title) return;
    shown.current = title;
    // An anchor leads to its own place.
    if (location.hash !== '') return;
    // A screen reader reads the new page from its top.
    main.current?.focus();
    scrollTo(0, 0);
  }, [title, name]);
  useEffect(() => void loadSession(), []);
  const wasOut = useRef(false);
  useEffect(() => {
    const { failure } = live.value;
    if (failure?.status === 401) wasOut.current = true;
    if (failure !== undefined) return;
    void loadSession(wasOut.current);
    wasOut.current = false;
  }, [live.value]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Header />
      <main id="main" ref={main} tabIndex={-1}>
        {content}
      </main>
      <Connection />
      <News />
      <ActionDialog />
      <SkippedTimesDialog />
    </>
  );
}

function Header() {
  const me = session.value?.me;
  return (
    <header class="top" style={environmentStyle.value}>
      <Link href={pageOf({})} class="brand">
        cronlease
      </Link>
      <EnvironmentChip />
      <nav aria-label="Pages">
        <Link href={pageOf({})} current={!hasParam('job', 'run', 'view')}>
          Jobs
        </Link>
        {VIEWS.map(({ name, title }) => (
          <Link key={name} href={pageOf({ view: name })} current={param('view') === name}>
            {title}
          </Link>
        ))}
      </nav>
      <div class="tools">
        <Select name="zone" label="Time zone of the times shown" options={Object.entries(ZONES)} replace />
        <button type="button" class="quiet" onClick={nextTheme} title="Change between light, dark and the system's">
          <span class="visually-hidden">Theme: </span>
          {theme.value}
        </button>
        {me !== undefined && (
          <span class="me foreign" title={`Logged in as ${me.actor}`}>
            {me.actor} <span class="muted">{me.readOnly ? 'read only' : me.role}</span>
          </span>
        )}
      </div>
    </header>
  );
}

/** Stands over the foot of the page while the app does not answer, so that nothing moves. */
function Connection() {
  const { failure, retryAt, body } = live.value;
  // Without any data, the page itself shows the failure.
  if (failure === undefined || body === undefined) return <div role="status" />;
  const waitMs = Math.max(0, (retryAt ?? 0) - Date.now());
  // Reads the clock, so that the seconds are counted down.
  const seconds = now.value > 0 ? Math.ceil(waitMs / 1_000) : 0;
  return (
    <div class="connection" role="status">
      <Icon name="alert" />
      <p class="foreign">
        {sentence(`This page is out of date: ${failure.detail}`)}
        <span aria-hidden="true"> Next try in {seconds} s.</span> <FailureHelp failure={failure} />
      </p>
      {failure.status === 401 ? (
        <LoginLink />
      ) : (
        <button type="button" onClick={refresh}>
          Try now
        </button>
      )}
    </div>
  );
}
