import { Container, currentScope, MetadataInjector, runInScope, type IContainer } from '@ambit/container';
import { ConsoleLogger, exactly, type Logger } from './services.js';

// The container is one of those that hosts can be given.
const own: IContainer = new Container(new MetadataInjector(), { tags: ['application'] });
const child: IContainer = new Container().createScope({ tags: ['request'] });

// So is any object of that shape.
const services = new Map<string, unknown>([['ILogger', new ConsoleLogger()]]);
const foreign: IContainer = {
  resolve: <T>(key: unknown) => services.get(String(key)) as T,
  createScope: () => foreign,
  register: (key, factory) => services.set(key, factory(foreign)),
  dispose: () => services.clear(),
};

class Foreign implements IContainer {
  resolve<T>(key: string): T {
    return services.get(key) as T;
  }
  createScope(options: { tags: string[] }): Foreign {
    void options;
    return this;
  }
  register(key: string, factory: (scope: Foreign) => unknown): this {
    services.set(key, factory(this));
    return this;
  }
  async dispose(): Promise<void> {}
}

// error: Property 'dispose' is missing
const halfOne: IContainer = { resolve: foreign.resolve, createScope: () => foreign, register: () => {} };

exactly<Logger>()(foreign.resolve('ILogger'))(true);
exactly<IContainer>()(currentScope())(true);
exactly<number>()(runInScope(child, () => 1))(true);
exactly<Promise<number>>()(runInScope(own, async () => 1))(true);

async function closes(): Promise<void> {
  await using scope = new Container();
  await using request = scope.createScope();
  request.resolve('ILogger').info('hello');
}

export { closes, Foreign, halfOne };
