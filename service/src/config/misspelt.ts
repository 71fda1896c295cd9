/** Shorter names are too close to those that other programs read. */
const SHORTEST = 6;
/** In shorter names one letter may be wrong, in others two. */
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
    const meant = absent.find((one) => isWithin(one.length < SHORT ? 1 : 2, name.toUpperCase(), one));
    return meant === undefined ? [] : [`${name} is not known: rename it to ${meant}, or set ${meant} as well`];
  });
}

/** True if so many letters of a name are missing, added, wrong or exchanged with the next at most. */
function isWithin(edits: number, name: string, known: string): boolean {
  let same = 0;
  while (same < name.length && name[same] === known[same]) same++;
  const [a, b] = [name.slice(same), known.slice(same)];
  if (a === b) return true;
  if (edits === 0) return false;
  const rests: [string, string][] = [
    [a.slice(1), b],
    [a, b.slice(1)],
    [a.slice(1), b.slice(1)],
  ];
  if (a[0] === b[1] && a[1] === b[0]) rests.push([a.slice(2), b.slice(2)]);
  return rests.some(([one, other]) => isWithin(edits - 1, one, other));
}
