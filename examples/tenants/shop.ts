import type { IncomingHttpHeaders } from 'node:http';
import { Container, lifetimes, type Services } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { TenantScopes } from '@ambit/transaction/tenants';
import { Directory, type Tenant } from './directory.ts';
import { Orders, ShopError } from './orders.ts';
import { openPool } from './tenant-database.ts';

export interface ShopOptions {
  /** The database that has the directory. */
  readonly directoryUrl: string;
  /** How many tenants may be open at a time. Default 100. */
  readonly capacity?: number;
  /** How many connections each open tenant may have. Default 4. */
  readonly connections?: number;
}

const { of, make, registered, alias, build } = lifetimes('application', 'tenant', 'request', 'transaction');

function createGraph({ directoryUrl, connections = 4 }: ShopOptions) {
  return build({
    IDirectory: make('application', () => new Directory(directoryUrl)),
    ITenant: registered('tenant').as<Tenant>(),
    IDatabasePool: make('tenant', (tenant: Tenant): IDatabasePool => openPool(tenant, connections), ['ITenant']),
    IConnection: registered('transaction').as<IConnection>(),
    database: alias({ request: 'IDatabasePool', transaction: 'IConnection' }),
    IOrders: of(['request', 'transaction'], Orders, ['database']),
  });
}

declare module '@ambit/container' {
  interface ServiceMap extends Services<ReturnType<typeof createGraph>> {}
  interface Settings {
    strictKeys: true;
  }
}

/** What the former database of a tenant responds with: no privilege, no such database, no connections. */
const MOVED: ReadonlySet<string | undefined> = new Set(['42501', '3D000', '55000']);

/** What a client is sent for an error. */
export interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly error: string };
}

/** The application without its host. */
export class Shop implements AsyncDisposable {
  readonly container: Container;
  readonly #tenants: TenantScopes<Container>;
  readonly #directory: Directory;
  /** What each request was given: the scope of its tenant, and where that was then. */
  readonly #given = new WeakMap<Headed, { readonly scope: Container; readonly tenant: Tenant }>();

  constructor(options: ShopOptions) {
    const graph = createGraph(options);
    this.container = new Container({ tags: ['application'] }).addRegistration(...graph.registrations);
    verify(this.container, ...graph.scopes);
    this.#directory = this.container.resolve('IDirectory');
    this.#tenants = new TenantScopes(this.container, {
      capacity: options.capacity ?? 100,
      register: async (scope, name) => {
        const tenant = await this.#directory.find(name);
        scope.register('ITenant', () => tenant);
      },
    });
  }

  /** The scope above that of the request. */
  async scopeFor(request: Headed): Promise<Container> {
    const scope = await this.#tenants.scopeOf(tenantOf(request.headers));
    this.#given.set(request, { scope, tenant: scope.resolve('ITenant') });
    return scope;
  }

  async refuse(failure: unknown, request: Headed): Promise<Refusal> {
    const { sqlState, status = 500, statusCode = status, message } = failure as Partial<Failure>;
    if (MOVED.has(sqlState)) {
      // Where the directory is away, the next request asks it again.
      await this.#reopenIfMoved(request).catch(console.error);
      return refusal(503, 'The tenant is being moved');
    }
    if (statusCode >= 500 && statusCode !== 503) console.error(failure);
    return refusal(statusCode, statusCode === 500 ? 'The request could not be processed' : String(message));
  }

  /** While the tenant is closed the directory has no other home for it yet, so its pool stays open for the case that it stays. */
  async #reopenIfMoved(request: Headed): Promise<void> {
    const given = this.#given.get(request);
    if (!given) return;
    const { name, home } = await this.#directory.find(given.tenant.name);
    if (home.name !== given.tenant.home.name) void this.#tenants.retire(name, given.scope);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.container.dispose();
  }
}

interface Headed {
  readonly headers: IncomingHttpHeaders;
}

interface Failure {
  readonly sqlState: string;
  readonly status: number;
  readonly statusCode: number;
  readonly message: string;
}

/** In production the tenant comes from a verified token, not from a header that anybody can set. */
function tenantOf({ 'x-tenant': tenant }: IncomingHttpHeaders): string {
  if (typeof tenant !== 'string' || tenant === '') throw new ShopError(400, 'x-tenant is missing');
  return tenant;
}

/** An order has an id of the client's, so each may be sent again, also where it is not known whether it was stored. */
function refusal(status: number, error: string): Refusal {
  return { status, headers: status === 503 ? { 'retry-after': '1' } : {}, body: { error } };
}
