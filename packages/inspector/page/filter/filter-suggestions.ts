import { FIELDS } from './filter-fields.js';

export interface Suggestion {
  /** The whole filter with it. */
  readonly text: string;
  readonly label: string;
  readonly about: string;
}

/** What the page knows to complete a term with. */
export interface Known {
  readonly recent: readonly string[];
  readonly routes: readonly string[];
  readonly services: readonly string[];
}

const MOST = 8;

/** How the last term can go on, and for an empty filter the recent ones and the fields. */
export function suggestionsFor(text: string, known: Known): Suggestion[] {
  const [, before = '', minus = '', field, start = ''] =
    /^(.*?(?:^|\s))(-?)(?:([a-z]+):)?("[^"]*|[^\s"]*)$/i.exec(text) ?? [];
  if (field !== undefined)
    return valuesOf(field.toLowerCase(), start, known).map((value) => ({
      text: `${before}${minus}${field}:${value} `,
      label: `${minus}${field}:${value}`,
      about: '',
    }));
  const fields = Object.entries(FIELDS)
    .filter(([name]) => name.startsWith(start.toLowerCase()))
    .map(([name, { about }]) => ({ text: `${before}${minus}${name}:`, label: `${minus}${name}:`, about }));
  if (text.trim() !== '') return start === '' ? [] : fields.slice(0, MOST);
  return [...known.recent.map((recent) => ({ text: recent, label: recent, about: 'recent' })), ...fields];
}

function valuesOf(name: string, start: string, { routes, services }: Known): string[] {
  const field = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
  const wanted = start.replace('"', '').toLowerCase();
  const begins = (field?.values ?? []).filter((value) => value.replace('"', '').startsWith(wanted));
  const known = name === 'route' ? routes : name === 'service' ? services : [];
  const contains = known.filter((value) => value.toLowerCase().includes(wanted));
  return [...begins, ...contains].filter((value) => value !== start).slice(0, MOST);
}
