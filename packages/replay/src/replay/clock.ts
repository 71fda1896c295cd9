/** `Date` of this process says another time where `now` gives one. The function returned puts it back. */
export function replaceDate(now: () => number | undefined): () => void {
  const RealDate = globalThis.Date;
  const present = (): number => now() ?? RealDate.now();
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [present()] : args, newTarget) as object,
    apply: () => new RealDate(present()).toString(),
    get: (target, name) => (name === 'now' ? present : (Reflect.get(target, name) as unknown)),
  });
  return () => (globalThis.Date = RealDate);
}

/** The time zone of this process. The function returned puts it back. */
export function replaceTimeZone(timeZone: string): () => void {
  const { TZ: before } = process.env;
  process.env['TZ'] = timeZone;
  return () => {
    if (before === undefined) delete process.env['TZ'];
    else process.env['TZ'] = before;
  };
}
