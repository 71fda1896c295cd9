// The Express middleware on another container library, awilix: an adapter with the four methods of `IContainer` is enough.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { IContainer } from '@ambit/container';
import { containerMiddleware, drain, resolve } from '@ambit/express';
import { asClass, asFunction, type AwilixContainer, createContainer, InjectionMode } from 'awilix';
import express from 'express';

class AwilixAdapter implements IContainer {
  readonly #inner: AwilixContainer;

  constructor(inner: AwilixContainer) {
    this.#inner = inner;
  }

  /** Awilix has no tags: a `scoped()` service belongs to the scope that resolves it. */
  createScope(): IContainer {
    return new AwilixAdapter(this.#inner.createScope());
  }

  resolve<T>(key: string): T {
    return this.#inner.resolve<T>(key);
  }

  register(key: string, factory: (scope: IContainer) => unknown): void {
    this.#inner.register(key, asFunction(() => factory(this)).scoped());
  }

  dispose(): Promise<void> {
    return this.#inner.dispose();
  }
}

class Visits {
  count = 0;
}

class Greeter {
  readonly #number: number;

  /** In this mode awilix injects by the names of the parameters. */
  constructor(visits: Visits) {
    visits.count += 1;
    this.#number = visits.count;
  }

  greet = (): string => `Hello visitor ${this.#number}`;
  leave = (): void => console.log(`Scope of visitor ${this.#number} disposed`);
}

const inner = createContainer({ injectionMode: InjectionMode.CLASSIC, strict: true }).register({
  visits: asClass(Visits).singleton(),
  greeter: asClass(Greeter)
    .scoped()
    .disposer((greeter) => greeter.leave()),
});
const appContainer = new AwilixAdapter(inner);

const app = express().use(containerMiddleware(appContainer));
app.get('/', (req, res) => {
  res.send(resolve<Greeter>(req, 'greeter').greet());
});

const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
const greetings: string[] = [];
for (let visit = 1; visit <= 2; visit += 1) {
  const response = await fetch(`http://127.0.0.1:${port}/`);
  greetings.push(await response.text());
}
await drain(server);
console.log(greetings);
await appContainer.dispose();
