import { describe, expect, it } from 'vitest';
import { type TimerOptions, readTimers } from '../../src/import/timers';

const OPTIONS: TimerOptions = {
  now: Date.UTC(2026, 0, 1),
  timeZone: 'UTC',
  settings: new Map([['WHEN', '0 0 5 * * *']]),
};
const read = (file: string, lines: readonly string[]) => readTimers(file, lines.join('\n'), OPTIONS);

describe('timers in C#', () => {
  it('have the name of their function, and the options of their attributes', () => {
    const { drafts, notes } = read('Jobs.cs', [
      'namespace Shop;',
      'public class Jobs(ILogger<Jobs> logger)',
      '{',
      '    private const string Nightly = "0 30 2 * * *";',
      '',
      '    [Function(nameof(CloseBooks))]',
      '    [FixedDelayRetry(5, "00:00:10")]',
      '    public void CloseBooks([TimerTrigger("0 */5 * * * *", RunOnStartup = true)] TimerInfo timer) => logger.LogInformation("a {b}", 1);',
      '',
      '    [FunctionName("Tidy-up"), Disable]',
      '    public static async Task Run(',
      '        [TimerTrigger(Nightly, UseMonitor = false)] TimerInfo timer, [Queue("out")] ICollector<string> queue)',
      '    { }',
      '',
      '    [Function("Sweep")]',
      '    public void Sweep([TimerTrigger("%WHEN%")] TimerInfo timer) { }',
      '    // [Function("Old")] public void Old([TimerTrigger("0 0 1 * * *")] TimerInfo timer) { }',
      '}',
    ]);
    expect(drafts.map(({ line, name, settings }) => [line, name, settings])).toEqual([
      [
        8,
        'CloseBooks',
        {
          schedule: '0 */5 * * * *',
          retry: { attempts: 6, backoff: '10s', factor: 1, maxBackoff: '10s', jitter: 'none' },
        },
      ],
      [12, 'Tidy-up', { schedule: '0 30 2 * * *', catchUp: 'none', enabled: false }],
      [16, 'Sweep', { schedule: '0 0 5 * * *' }],
    ]);
    expect(notes.map(({ line, what }) => [line, what])).toEqual([
      [8, 'CloseBooks: runOnStartup'],
      [16, 'Sweep: app setting WHEN'],
    ]);
  });

  it('may be methods that are called as the attribute is, as in the samples of Microsoft', () => {
    const { drafts, notes } = read('Jobs.cs', [
      'class Jobs {',
      '  [Function(nameof(TimerTrigger))]',
      '  public void TimerTrigger([TimerTrigger("0 * * * * *")] TimerInfo timer) { }',
      '}',
    ]);
    expect(drafts.map(({ name }) => name)).toEqual(['TimerTrigger']);
    expect(notes).toEqual([]);
  });

  it.each([
    ['a constant of another file', 'TimerTrigger(Schedules.Nightly)'],
    ['a constant of another class', 'TimerTrigger(Other.Nightly)'],
    ['a type', 'TimerTrigger(typeof(Daily))'],
    ['a text with values', 'TimerTrigger($"0 0 {Hour} * * *")'],
    ['a sum', 'TimerTrigger("0 0 " + Hour + " * * *")'],
  ])('are left out with %s', (_, attribute) => {
    const { drafts, notes } = read('Jobs.cs', [
      'class Jobs { const string Nightly = "0 0 3 * * *";',
      `[Function("A")] public void A([${attribute}] TimerInfo timer) { } }`,
    ]);
    expect(drafts).toEqual([]);
    expect(notes).toMatchObject([{ line: 2, what: 'A', leftOut: true }]);
  });

  it('have the name of their method without another one', () => {
    const one = 'class Jobs { public Task Run([TimerTrigger(@"0 0 3 * * *")] TimerInfo timer) => null; }';
    expect(read('Jobs.cs', [one]).drafts).toMatchObject([{ name: 'Run', settings: { schedule: '0 0 3 * * *' } }]);
  });

  it('are found in F#, Java and Kotlin too', () => {
    const fsharp = ['[<Function("A")>]', 'let run ([<TimerTrigger("0 0 3 * * *")>] timer: TimerInfo) = ()'];
    expect(read('Jobs.fs', fsharp).drafts).toMatchObject([
      { name: 'A', line: 2, settings: { schedule: '0 0 3 * * *' } },
    ]);
    const java = [
      'public class Jobs {',
      '  private static final String EVERY = "0 */10 * * * *";',
      '  @FunctionName("B")',
      '  @ExponentialBackoffRetry(maxRetryCount = 2, minimumInterval = "00:00:05", maximumInterval = "00:01:00")',
      '  public void run(@TimerTrigger(name = "timer", schedule = Jobs.EVERY) String timer, ExecutionContext context) {}',
      '}',
    ];
    expect(read('Jobs.java', java).drafts).toMatchObject([
      { name: 'B', line: 5, settings: { schedule: '0 */10 * * * *', retry: { attempts: 3, maxBackoff: '1m' } } },
    ]);
    const kotlin = ['@FunctionName("C")', 'fun run(@TimerTrigger(name = "t", schedule = "00:10:00") timer: String) {}'];
    expect(read('Jobs.kt', kotlin).drafts).toMatchObject([{ name: 'C', settings: { schedule: '@every 10m' } }]);
  });
});

describe('timers in Python', () => {
  it('have the name of their function, and the options of their decorators', () => {
    const { drafts, notes } = read('function_app.py', [
      'import azure.functions as func',
      'app = func.FunctionApp()  # @app.timer_trigger(schedule="0 0 1 * * *")',
      "NIGHTLY = '0 30 2 * * *'",
      '',
      '@app.timer_trigger(schedule="0 */5 * * * *", arg_name="timer", run_on_startup=True,',
      '                   use_monitor=False)',
      '@app.retry(strategy="fixed_delay", max_retry_count="3", delay_interval="00:00:05")',
      'def close_books(timer: func.TimerRequest) -> None:',
      '    """@app.timer_trigger(schedule="0 0 1 * * *")"""',
      '',
      '@app.function_name(name="TidyUp")',
      '@app.schedule(schedule=NIGHTLY, arg_name="timer")',
      'async def tidy(timer): pass',
      '',
      '@bp.timer_trigger(schedule=os.getenv("WHEN", "0 0 6 * * *"), arg_name="timer")',
      'def sweep(timer): a = b @ c',
      '',
      '@app.timer_trigger("timer", "0 0 7 * * *")',
      'def wake(timer): pass',
      '',
      '@app.generic_trigger(arg_name="timer", type="timerTrigger", schedule="%OTHER%")',
      'def report(timer): pass',
      '',
      '@app.route(route="x")',
      'def page(request): pass',
    ]);
    expect(drafts.map(({ line, name, settings }) => [line, name, settings])).toEqual([
      [
        5,
        'close_books',
        {
          schedule: '0 */5 * * * *',
          catchUp: 'none',
          retry: { attempts: 4, backoff: '5s', factor: 1, maxBackoff: '5s', jitter: 'none' },
        },
      ],
      [12, 'TidyUp', { schedule: '0 30 2 * * *' }],
      [15, 'sweep', { schedule: '0 0 5 * * *' }],
      [18, 'wake', { schedule: '0 0 7 * * *' }],
    ]);
    expect(notes.map(({ line, what, leftOut }) => [line, what, leftOut])).toEqual([
      [5, 'close_books: runOnStartup', false],
      [15, 'sweep: app setting WHEN', false],
      [21, 'report', true],
    ]);
  });

  it.each([
    ['a computed schedule', ['@app.timer_trigger(schedule=f"0 0 {HOUR} * * *", arg_name="t")', 'def a(t): pass'], 'a'],
    ['a call that decorates nothing', ['app.timer_trigger(schedule="0 0 3 * * *", arg_name="t")(a)'], 'timer_trigger'],
    ['options of a dictionary', ['@app.timer_trigger(**OPTIONS)', 'def a(t): pass'], 'a'],
    [
      'two constants of one name',
      ['W = "0 0 1 * * *"', 'W = "0 0 2 * * *"', '@app.schedule(schedule=W)', 'def a(t): pass'],
      'a',
    ],
  ])('are left out with %s', (_, lines, what) => {
    const { drafts, notes } = read('function_app.py', lines);
    expect(drafts).toEqual([]);
    expect(notes).toMatchObject([{ what, leftOut: true }]);
  });
});
