import { type Html, html, prose } from './html.js';

/** The part of JSON Schema that this service uses. */
interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly format?: string;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** What one line says about a property, a parameter or a header. */
export interface Field {
  readonly name: string;
  readonly schema: object;
  readonly required: boolean;
  readonly description: string;
}

export function fieldList(fields: readonly Field[]): Html {
  return html`<dl class="fields">
    ${fields.map(
      ({ name, schema, required, description }) =>
        html`<div>
          <dt><code>${name}</code> <span>${kindOf(schema)}${!required && ', optional'}</span></dt>
          <dd>${prose(description)}</dd>
        </div>`,
    )}
  </dl>`;
}

/** Every property of a schema, those of nested objects by their path. */
export function fieldsOf(schema: Schema, path = ''): Field[] {
  if (schema.items) return fieldsOf(schema.items, `${path}[]`);
  return Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => {
    const name = path === '' ? key : `${path}.${key}`;
    const required = schema.required?.includes(key) ?? false;
    const field = { name, schema: inner, required, description: inner.description ?? '' };
    return [field, ...fieldsOf(inner, name)];
  });
}

function kindOf(schema: Schema): string {
  const { type = 'value', format, items, minimum, maximum, minLength, maxLength, minItems, maxItems } = schema;
  const kind = items ? `array of ${items.type}s` : schema.const === undefined ? type : JSON.stringify(schema.const);
  const limits = [
    // `text` is our own format: a string that a database stores.
    format === 'text' ? undefined : format,
    range(minimum, maximum, ''),
    range(minLength, maxLength, ' characters'),
    range(minItems, maxItems, ' items'),
  ];
  return [kind, ...limits.filter((limit) => limit !== undefined)].join(', ');
}

function range(least: number | undefined, most: number | undefined, unit: string): string | undefined {
  const [low, high] = [least?.toLocaleString('en'), most?.toLocaleString('en')];
  if (low !== undefined && high !== undefined) return `${low} to ${high}${unit}`;
  if (low !== undefined) return `at least ${low}${unit}`;
  return high === undefined ? undefined : `at most ${high}${unit}`;
}
