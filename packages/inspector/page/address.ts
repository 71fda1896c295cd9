/** The content of the URL after `#`, such as `#/requests/1f0c2a9b-17?at=1x3f9z`. */
export interface Address {
  readonly view: string;
  /** The id of the item that is open in the view. */
  readonly item?: string | undefined;
  /** The filter. */
  readonly q?: string | undefined;
  /** The id of the trouble whose step is to be shown. */
  readonly at?: string | undefined;
}

export function parseAddress(hash: string): Address {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  const [view = '', item] = path.split('/');
  const parameters = new URLSearchParams(query);
  const [q, at] = [parameters.get('q'), parameters.get('at')];
  return { view, ...(item && { item }), ...(q && { q }), ...(at && { at }) };
}

export function formatAddress({ view, item, q, at }: Address): string {
  // Not the id of the panel alone: the browser would take that for a place to begin to read.
  const path = item ? `#/${view}/${item}` : `#/${view}`;
  const query = new URLSearchParams({ ...(q && { q }), ...(at && { at }) }).toString();
  return query === '' ? path : `${path}?${query}`;
}

/** Requests of all recordings have names of their own: `<boot>-<id>`. */
export function refOf(boot: string, id: number): string {
  return `${boot}-${id}`;
}

/** Undefined if it is not the name of a request. */
export function parseRef(ref: string): { readonly boot: string; readonly id: number } | undefined {
  const [, boot, id] = /^([\w-]+)-(\d+)$/.exec(ref) ?? [];
  return boot === undefined ? undefined : { boot, id: Number(id) };
}
