/** A name for a list of tags; what is no such list has an empty one, and is refused when a shape is made of it. */
export function nameOf(tags: unknown): string {
  return Array.isArray(tags) && tags.every((tag) => typeof tag === 'string') ? tags.join('\0') : '';
}

/** Whether the lists are equal. */
export function same(one: readonly string[], other: readonly string[] | null): boolean {
  if (one.length !== other?.length) return false;
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false;
  return true;
}
