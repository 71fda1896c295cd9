/** A value as the console would print it, in one line where it is one. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (typeof value === 'function') return `[Function: ${value.name || '(anonymous)'}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  try {
    const text = JSON.stringify(value);
    const { name } = value.constructor ?? {};
    return Array.isArray(value) || name === undefined || name === 'Object' ? text : `${name} ${text}`;
  } catch {
    return Object.prototype.toString.call(value); // it refers to itself
  }
}
