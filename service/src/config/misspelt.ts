/** Shorter names are too close to those that other programs read. */
const SHORTEST = 6;
const SHORT = 8;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * A variable that is not read, and is almost one that is: `DATBASE_URL` would start the service on an embedded database without a word. One
 * that belongs to another program is accepted once the variable of the service is set, too, for example to its default.
 */
export function misspeltVariables(env: Environment, known: ReadonlySet<string>): string[] {
  const absent = [...known].filter((name) => name.length >= SHORTEST && !env[name]?.trim());
  return Object.keys(env).flatMap((name) => {
    if (known.has(name)) return [];
    const meant = absent.find((candidate) => isAlmost(name.toUpperCase(), candidate));
    return meant === undefined ? [] : [`${name} is not known: rename it to ${meant}, or set ${meant} as well`];
  });
}

/** Whether one or two letters of a name are missing, added, wrong or exchanged with the next; of a short one, a single letter. */
function isAlmost(name: string, known: string): boolean {
  const most = known.length < SHORT ? 1 : 2;
  if (Math.abs(name.length - known.length) > most) return false;
  let [before, last] = [[] as number[], Array.from({ length: known.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= name.length; i++) {
    const row = [i];
    for (let j = 1; j <= known.length; j++) {
      const changed = last[j - 1]! + Number(name[i - 1] !== known[j - 1]);
      const isExchanged = i > 1 && j > 1 && name[i - 1] === known[j - 2] && name[i - 2] === known[j - 1];
      row[j] = Math.min(changed, row[j - 1]! + 1, last[j]! + 1, isExchanged ? before[j - 2]! + 1 : Infinity);
    }
    [before, last] = [last, row];
  }
  return last[known.length]! <= most;
}
