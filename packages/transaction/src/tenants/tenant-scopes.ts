import { AsyncResource } from 'node:async_hooks';
import type { IContainer } from '@ambit/container';
import type { ScopeOf } from '@ambit/container/work';
import { type Clock, startTimer } from '../clock.js';
import { report, TransactionError } from '../errors.js';
import { shown, startServices } from '../options.js';
import { codeOf } from '../sql-state.js';
import { type Leave, WaitQueue } from '../pool/waiting.js';
import { whenDisposed } from '../transaction/scope-disposal.js';
import { readTenantOptions, type TenantScopesOptions, type TenantSettings } from './options.js';

async function prepareScope<C extends IContainer>(
  { register, start }: TenantSettings<C>,
  scope: ScopeOf<C>,
  tenant: string,
): Promise<void> {
  await register(scope, tenant);
  if (start) await startServices(scope, 'TenantScopes');
}

/** Never rejects: nobody who waits is to blame. */
async function disposeScope<C extends IContainer>(
  { onError }: TenantSettings<C>,
  scope: IContainer,
  tenant: string,
): Promise<void> {
  try {
    await scope.dispose();
  } catch (cause) {
    const error = new TransactionError('AMBIT_TX_SCOPE_FAILED', 'The scope of a tenant failed to dispose', { cause });
    report({ onError: (failure) => onError(failure, tenant) }, error);
  }
}

/** The time that a scope that was handed out stays in use, although nobody opens a scope below it. */
const HANDED_OUT_MS = 1000;

interface TenantListener {
  readonly onUnused: (tenant: Tenant) => void;
}

/** One open tenant: its scope, and how often it is in use. */
export class Tenant {
  readonly name: string;
  /** Cancels the timer that runs while it is unused. */
  stopIdleTimer: () => void = () => undefined;
  /** Resolves when its scope is disposed, or was not opened after all. */
  readonly closed: Promise<void>;
  isClosing = false;
  #resolveClosed: () => void = () => undefined;
  readonly #clock: Clock;
  readonly #listener: TenantListener;
  /** Scopes below its own, callers that wait for it to open, and callers that have not opened their scope yet. */
  #uses = 0;
  /** Cancels the timers that take back the use of callers that open no scope, oldest first. */
  readonly #handedOut: (() => void)[] = [];
  #scope: IContainer | undefined = undefined;

  constructor(name: string, clock: Clock, listener: TenantListener) {
    this.name = name;
    this.#clock = clock;
    this.#listener = listener;
    this.closed = new Promise((resolve) => (this.#resolveClosed = resolve));
  }

  get isUnused(): boolean {
    return this.#uses === 0;
  }

  /** Undefined until it is open. */
  get scope(): IContainer | undefined {
    return this.#scope;
  }

  /** From now on the scopes that are opened below its own are counted. */
  opened(scope: IContainer): void {
    this.#scope = scope;
    const createScope = scope.createScope.bind(scope);
    scope.createScope = (options) => {
      const child = createScope(options);
      const stopTimer = this.#handedOut.shift();
      if (stopTimer) stopTimer();
      else this.enter();
      whenDisposed(child, () => this.leave());
      return child;
    };
  }

  enter(): void {
    this.#uses += 1;
    this.stopIdleTimer();
  }

  leave(): void {
    this.#uses -= 1;
    if (this.#uses === 0) this.#listener.onUnused(this);
  }

  /** The use of the caller passes to the next scope that is opened. */
  handOut(): void {
    const takeBack = (): void => {
      this.#handedOut.splice(this.#handedOut.indexOf(stopTimer), 1);
      this.leave();
    };
    const stopTimer = startTimer(this.#clock, takeBack, HANDED_OUT_MS);
    this.#handedOut.push(stopTimer);
  }

  /** Nobody is to be called any more. */
  finish(): void {
    this.stopIdleTimer();
    for (const stopTimer of this.#handedOut.splice(0)) stopTimer();
    this.#resolveClosed();
  }
}

interface Entry {
  readonly tenant: Tenant;
  readonly opening: Promise<IContainer>;
}

/**
 * The scopes of the tenants in use, between the application and the request: each with services of its own, such as its
 * connection pool. A tenant is opened at its first request, and disposed when it is idle, or when it is the least recently used
 * of those unused and another one needs its place; never while a scope below it is open.
 *
 * @example
 * ```ts
 * import { Container, lifetimes } from '@ambit/container';
 * import { createPostgresPool } from '@ambit/transaction/postgres';
 * import { TenantScopes } from '@ambit/transaction/tenants';
 *
 * const { make, registered, build } = lifetimes('application', 'tenant', 'request', 'transaction');
 * const openPool = (tenant: string) => createPostgresPool({ database: `shop_${tenant}`, max: 4 });
 * const graph = build({
 *   ITenant: registered('tenant').as<string>(),
 *   IDatabasePool: make('tenant', openPool, ['ITenant']),
 * });
 * const app = new Container({ tags: ['application'] }).addRegistration(...graph.registrations);
 * const known = new Set(['acme', 'bolt']);
 * const tenants = new TenantScopes(app, {
 *   capacity: 50,
 *   register: (tenantScope, tenant) => {
 *     if (!known.has(tenant)) throw new Error(`There is no tenant ${tenant}`);
 *     tenantScope.register('ITenant', () => tenant);
 *   },
 * });
 *
 * const requestScope = (await tenants.scopeOf('acme')).createScope({ tags: ['request'] });
 * ```
 */
export class TenantScopes<C extends IContainer = IContainer> implements AsyncDisposable {
  readonly #application: C;
  readonly #settings: TenantSettings<C>;
  /** The scopes that are open or being opened; the one handed out last is the last. */
  readonly #entries = new Map<string, Entry>();
  readonly #closing = new Map<string, Promise<void>>();
  /** In use although the next caller opens them again; each is disposed when its last use ends. */
  readonly #retired = new Set<Tenant>();
  readonly #places: WaitQueue;
  /** A tenant's scope outlives the request that needs it first, so it is not opened in that request's asynchronous context. */
  readonly #context = new AsyncResource('TenantScopes');
  #disposing: Promise<void> | undefined = undefined;

  /**
   * @param application - the parent of the tenants' scopes. Where it has `defer()`, its disposal disposes them all.
   * @param options - what a tenant's scope needs, and how many may be open for how long
   * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
   */
  constructor(application: C, options: TenantScopesOptions<C>) {
    this.#application = application;
    this.#settings = readTenantOptions(options);
    const { capacity, maxWaiting, clock } = this.#settings;
    this.#places = new WaitQueue(capacity, { clock, maxWaiting });
    application.defer?.(() => this.dispose());
  }

  /** The number of tenants that are open, being opened or being disposed. */
  get size(): number {
    return this.#places.taken;
  }

  /**
   * The scope of the tenant. Open a scope below it within a second, as the hosts do: until that is disposed, the tenant is in use.
   *
   * @param tenant - its name; check first that the caller may use it
   * @returns the scope, with what `register` has registered in it
   * @throws `TransactionError` `AMBIT_TX_POOL_FULL`: all tenants that may be open at a time stay in use
   * @throws `TransactionError` `AMBIT_TX_POOL_CLOSED`: `dispose()` was called
   * @throws `TransactionError` `AMBIT_OPTION`: the name is empty, or `start` is set and the container has no `start()`
   * @throws what `register` throws, and what `start()` of the scope throws
   */
  async scopeOf(tenant: string): Promise<ScopeOf<C>> {
    if (typeof tenant !== 'string' || tenant === '') throw noName(tenant);
    for (let closing = this.#closing.get(tenant); closing; closing = this.#closing.get(tenant)) await closing;
    if (this.#disposing) throw disposed();
    const entry = this.#entries.get(tenant) ?? this.#add(tenant);
    this.#entries.delete(tenant);
    this.#entries.set(tenant, entry);
    entry.tenant.enter();
    const scope = await entry.opening;
    entry.tenant.handOut();
    return scope as ScopeOf<C>;
  }

  /**
   * From now on callers open the tenant again, such as on the server that it was moved to. What is open now is disposed when its
   * last use ends, so for that long the tenant may have two scopes and two pools. Without an open scope it does nothing.
   *
   * @param tenant - its name
   * @param scope - what `scopeOf()` returned: then nothing happens where another one is open by now
   * @returns resolves when the scope that was open is disposed: a request of the tenant that waits for it waits for itself
   *
   * @example
   * ```ts
   * import type { TenantScopes } from '@ambit/transaction/tenants';
   *
   * async function onMoved(tenants: TenantScopes, tenant: string): Promise<void> {
   *   await tenants.retire(tenant);
   *   console.log(`No request uses the former database of ${tenant} any more`);
   * }
   * ```
   */
  async retire(tenant: string, scope?: IContainer): Promise<void> {
    const entry = this.#entries.get(tenant);
    if (!entry) return this.#closing.get(tenant);
    if (scope && entry.tenant.scope !== scope) return;
    this.#entries.delete(tenant);
    this.#retired.add(entry.tenant);
    if (entry.tenant.isUnused) this.#disposeRetired(entry.tenant);
    return entry.tenant.closed;
  }

  /** Refuses new callers and disposes the scopes of all tenants, also of those in use: drain the host first. */
  dispose(): Promise<void> {
    this.#disposing ??= this.#dispose();
    return this.#disposing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  #add(name: string): Entry {
    const tenant = new Tenant(name, this.#settings.clock, { onUnused: (unused) => this.#unused(unused) });
    // A turn later it has its entry, which a failure removes.
    const open = (): Promise<IContainer> => this.#context.runInAsyncScope(() => this.#open(tenant));
    const entry: Entry = { tenant, opening: Promise.resolve().then(open) };
    this.#entries.set(name, entry);
    return entry;
  }

  async #open(tenant: Tenant): Promise<IContainer> {
    let leave: Leave | undefined;
    let scope: IContainer | undefined;
    try {
      leave = await this.#place();
      if (this.#disposing) throw disposed();
      scope = this.#application.createScope({ tags: [...this.#settings.tags] });
      // Before anything is created in it, so that the place is free when all of that is disposed.
      whenDisposed(scope, () => this.#forget(tenant, leave));
      await prepareScope(this.#settings, scope as ScopeOf<C>, tenant.name);
      if (this.#disposing) throw disposed();
      tenant.opened(scope);
      return scope;
    } catch (error) {
      if (scope) await disposeScope(this.#settings, scope, tenant.name);
      this.#forget(tenant, leave);
      throw error;
    }
  }

  async #place(): Promise<Leave> {
    const { acquireTimeoutMs: timeoutMs, capacity } = this.#settings;
    try {
      const place = this.#places.enter(undefined, timeoutMs);
      if (place instanceof Promise) this.#makeRoom();
      return await place;
    } catch (cause) {
      if (codeOf(cause) === 'AMBIT_TX_POOL_CLOSED') throw disposed();
      const what = `All ${capacity} tenants that may be open at a time are in use`;
      throw new TransactionError('AMBIT_TX_POOL_FULL', what, { cause });
    }
  }

  /** For each that waits, one is being disposed, as long as there are unused ones. */
  #makeRoom(): void {
    for (const { tenant } of this.#entries.values()) {
      if (this.#places.waiting <= this.#closing.size) return;
      if (tenant.isUnused) this.#close(tenant);
    }
  }

  #unused(tenant: Tenant): void {
    if (this.#retired.has(tenant)) return this.#disposeRetired(tenant);
    if (this.#entries.get(tenant.name)?.tenant !== tenant || !tenant.scope) return;
    const { clock, idleTimeoutMs } = this.#settings;
    tenant.stopIdleTimer = startTimer(clock, () => this.#close(tenant), idleTimeoutMs);
    this.#makeRoom();
  }

  /** A caller that comes meanwhile waits, and opens the tenant again. */
  #close(tenant: Tenant): void {
    const { name, scope } = tenant;
    if (!scope) return;
    this.#entries.delete(name);
    const closing = disposeScope(this.#settings, scope, name).then(() => void this.#closing.delete(name));
    this.#closing.set(name, closing);
  }

  /** No caller waits for it: the next one has a scope of its own. */
  #disposeRetired(tenant: Tenant): void {
    const { name, scope, isClosing } = tenant;
    if (!scope || isClosing) return;
    tenant.isClosing = true;
    void disposeScope(this.#settings, scope, name);
  }

  /** Its scope is disposed, by us or by somebody else. */
  #forget(tenant: Tenant, leave: Leave | undefined): void {
    tenant.finish();
    this.#retired.delete(tenant);
    if (this.#entries.get(tenant.name)?.tenant === tenant) this.#entries.delete(tenant.name);
    leave?.();
  }

  async #dispose(): Promise<void> {
    this.#places.close();
    await Promise.allSettled([...this.#entries.values()].map(({ opening }) => opening));
    for (const { tenant } of this.#entries.values()) this.#close(tenant);
    const retired = [...this.#retired];
    for (const tenant of retired) this.#disposeRetired(tenant);
    await Promise.all([...this.#closing.values(), ...retired.map(({ closed }) => closed)]);
  }
}

function disposed(): TransactionError {
  return new TransactionError('AMBIT_TX_POOL_CLOSED', 'The scopes of the tenants are disposed');
}

function noName(tenant: unknown): TransactionError {
  return new TransactionError('AMBIT_OPTION', `The name of a tenant must be a text, not ${shown(tenant)}`);
}
