/**
 * Loaded into an instance before everything else: its wall clock is wrong from the start, by CHAOS_CLOCK_SHIFT ms.
 * The monotonic clock is left alone, as on a machine whose clock was set wrong.
 */
const shift = Number(process.env['CHAOS_CLOCK_SHIFT'] ?? 0);
const TrueDate = Date;

class ShiftedDate extends TrueDate {
  constructor(...args: readonly unknown[]) {
    if (args.length === 0) super(TrueDate.now() + shift);
    else super(...(args as [number]));
  }

  static override now(): number {
    return TrueDate.now() + shift;
  }
}

globalThis.Date = ShiftedDate as DateConstructor;
