import type { IncomingMessage } from 'node:http';
import { Container } from '@ambit/container';
import { AmbitModule } from '@ambit/nest';
import { type DynamicModule, Module } from '@nestjs/common';
import { KnownCallers } from './caller.ts';
import { type Config, createGraph } from './graph.ts';
import { Mailer, OrdersController } from './orders.ts';

@Module({ controllers: [OrdersController], providers: [KnownCallers, Mailer] })
class OrdersModule {}

@Module({})
export class AppModule {
  static with(config: Config): DynamicModule {
    const ambit = AmbitModule.forRootAsync({
      useFactory: async () => {
        const { registrations, scopes } = createGraph(config);
        const container = new Container({ tags: ['application'] }).addRegistration(...registrations);
        await container.start();
        return { container, verify: scopes, register: readHeaders };
      },
    });
    return { module: AppModule, imports: [ambit, OrdersModule] };
  }
}

type Register = NonNullable<Parameters<typeof AmbitModule.forRoot>[0]['register']>;

const readHeaders: Register = (scope, { headers }: IncomingMessage) =>
  void scope.register('authorization', () => headers.authorization ?? '');
