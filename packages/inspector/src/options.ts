import { Container, ContainerError } from '@ambit/container';
import type { ScopeDeclaration } from '@ambit/container/tools';

/** @param problem - names the option, and what it accepts */
const invalid = (problem: string): ContainerError => new ContainerError('AMBIT_OPTION', { about: problem });

/** The options of the inspector: the data that it shows, the address of its page, and who may open it. */
export interface InspectorOptions {
  /** The application container. */
  readonly container: Container;
  /** The kinds of scope that are opened in it, as `verify()` takes them. */
  readonly scopes?: ScopeDeclaration | readonly ScopeDeclaration[];
  /** Serves the page at all. Default: unless `NODE_ENV` is `production`. */
  readonly enabled?: boolean;
  /** The path of the page. Default `/inspector`. */
  readonly path?: string;
  /**
   * With a token, clients from any address may open the page. Without, only clients on this machine may, and only where `NODE_ENV` is
   * `development` or `test`. At least 16 characters.
   */
  readonly token?: string;
  /**
   * Records also while no page is open, so that a page opened later shows what happened before. Every request then pays for it.
   * Default false.
   */
  readonly always?: boolean;
  /** A scope older than this is marked, with where it was opened. Default 10 s. */
  readonly limitMs?: number;
  /** A request that takes longer counts as trouble. Default 1 s. */
  readonly slowMs?: number;
}

const SHORTEST_TOKEN = 16;

export type Settings = ReturnType<typeof settingsOf>;

export function settingsOf(options: InspectorOptions) {
  const { NODE_ENV: mode = '' } = process.env;
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const settings = {
    path: '/inspector',
    token: undefined,
    limitMs: 10_000,
    slowMs: 1000,
    always: false,
    enabled: mode !== 'production',
    ...(given as InspectorOptions),
    scopes: [options.scopes ?? []].flat(),
    /** Clients on this machine need no token. */
    isDevelopment: mode === 'development' || mode === 'test',
  };
  const { container, path, token, limitMs, slowMs } = settings;
  if (!(container instanceof Container))
    throw invalid('inspector({ container }) needs the application container, a Container of @ambit/container');
  if (!/^(\/[\w.~-]+)+$/.test(path)) throw invalid(`path must be like '/inspector', not '${path}'`);
  if (token !== undefined && token.length < SHORTEST_TOKEN)
    throw invalid(
      `token must have at least ${SHORTEST_TOKEN} characters, or it can be guessed; in development, leave it out to serve this machine only`,
    );
  if (options.enabled && token === undefined && !settings.isDevelopment)
    throw invalid(
      'enabled: true needs a token, unless NODE_ENV is development or test: behind a proxy on this machine, every client looks like one of this machine',
    );
  for (const [name, value] of Object.entries({ limitMs, slowMs }))
    if (!(value > 0 && value < Infinity)) throw invalid(`${name} must be a number above 0, not ${value}`);
  return settings;
}
