/** What is wrong in a file, in words for the one who chose it. */
export class ProblemInFile extends Error {}

export function record(value: unknown, name: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ProblemInFile(`“${name}” must be an object.`);
  return value as Readonly<Record<string, unknown>>;
}

export function list(value: unknown, name: string): readonly unknown[] {
  if (!Array.isArray(value) || value.length > 10_000) throw new ProblemInFile(`“${name}” must be a list.`);
  return value;
}

export function text(value: unknown, name: string): string {
  if (typeof value !== 'string' || value.length > 100_000) throw new ProblemInFile(`“${name}” must be a text.`);
  return value;
}

/** A number from 0 on: durations, counts and times. */
export function amount(value: unknown, name: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0)
    throw new ProblemInFile(`“${name}” must be a number from 0 on.`);
  return value;
}

/** An object with the field, or an empty one where the field is missing. */
export function optional<K extends string, T>(
  from: Readonly<Record<string, unknown>>,
  name: K,
  read: (value: unknown, name: string) => T,
): { readonly [key in K]?: T } {
  const value = from[name];
  return value === undefined ? {} : ({ [name]: read(value, name) } as { readonly [key in K]: T });
}
