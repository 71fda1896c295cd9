import {
  type AbstractClass,
  ContainerError,
  currentScope,
  type Key,
  type Listed,
  type ServiceMap,
} from '@ambit/container';
import { createParamDecorator, type FactoryProvider, Inject, type InjectionToken, type Provider } from '@nestjs/common';

/** Nest's token for a key. */
type Token = symbol;

/**
 * Decorators run before there is an application, so the keys that constructors and properties name have no other place: every
 * application provides all of them.
 */
const tokens = new Map<Key, Token>();

/** Looks the key up when the handler is called. */
const ofHandler = createParamDecorator((key: Key) => resolveCurrent(key));

/**
 * Injects a service of the current scope: of the request, of its transaction, or of the message.
 *
 * On a parameter of a handler it is the instance. On a parameter of a constructor, or on a property, it is a stand-in that finds the
 * instance of the current scope at each use, so that a controller, guard or provider which Nest makes once can have services of the
 * request. A method of the stand-in is called on the instance.
 *
 * @param key - what to resolve; with `strictKeys`, a string that `ServiceMap` does not list is a compile error
 * @returns the decorator
 * @throws `ContainerError` `AMBIT_NO_SCOPE`, at the use of the service: it is used outside of a request or a message
 *
 * @example
 * ```ts
 * import { Controller, Get, Param } from '@nestjs/common';
 *
 * interface IOrders { find(id: string): Promise<object> }
 *
 * @Controller('orders')
 * class OrdersController {
 *   constructor(@InjectScoped('IOrders') private readonly orders: IOrders) {}
 *
 *   @Get(':id')
 *   find(@Param('id') id: string): Promise<object> {
 *     return this.orders.find(id);
 *   }
 * }
 * ```
 */
export function InjectScoped<K extends keyof ServiceMap>(key: K): ParameterDecorator & PropertyDecorator;
export function InjectScoped(key: AbstractClass): ParameterDecorator & PropertyDecorator;
export function InjectScoped<const K extends string | symbol>(key: Listed<K>): ParameterDecorator & PropertyDecorator;
export function InjectScoped(key: Key): ParameterDecorator & PropertyDecorator {
  return (target: object, name: string | symbol | undefined, index?: number): void => {
    if (index !== undefined && name !== undefined) ofHandler(key)(target, name, index);
    else Inject(tokenOf(key))(target, name as string, index as number);
  };
}

function tokenOf(key: Key): Token {
  let token = tokens.get(key);
  if (!token) tokens.set(key, (token = Symbol(`@InjectScoped(${nameOf(key)})`)));
  return token;
}

/**
 * A provider of NestJS that is a service of the current scope, under the token that the application injects already: what has
 * `@InjectRepository(User)`, or the class as the type of a parameter, stays as it is. It gives the stand-in of {@link InjectScoped}.
 *
 * @param token - NestJS's token, such as `getRepositoryToken(User)` or a class
 * @param key - what to resolve; with `strictKeys`, a string that `ServiceMap` does not list is a compile error
 * @returns the provider
 *
 * @example
 * ```ts
 * import { Module } from '@nestjs/common';
 *
 * class UserRepository {}
 *
 * @Module({ providers: [scopedProvider(UserRepository, 'IUsers')], exports: [UserRepository] })
 * class UsersModule {}
 * ```
 */
export function scopedProvider<K extends keyof ServiceMap>(token: InjectionToken, key: K): FactoryProvider;
export function scopedProvider(token: InjectionToken, key: AbstractClass): FactoryProvider;
export function scopedProvider<const K extends string | symbol>(token: InjectionToken, key: Listed<K>): FactoryProvider;
export function scopedProvider(token: InjectionToken, key: Key): FactoryProvider {
  return { provide: token, useFactory: () => standIn(key) };
}

/** The stand-ins for all keys that decorators have named. */
export function standIns(): Provider[] {
  return [...tokens].map(([key, token]) => scopedProvider(token, key as string));
}

function nameOf(key: Key): string {
  return typeof key === 'function' ? key.name : String(key);
}

function resolveCurrent(key: Key): unknown {
  return (currentScope(undefined) ?? scopeMissing(key)).resolve(key as string);
}

function scopeMissing(key: Key): never {
  const hint = `${nameOf(key)} is of a scope, and was used outside of every one: put @InScope() on the method that a cron job, a queue or an event calls; there is none in constructors and when the application starts`;
  throw new ContainerError('AMBIT_NO_SCOPE', { hint });
}

/** Nest asks every provider for these outside of a request, and for its constructor. */
const ASKED_BY_NEST: ReadonlySet<string> = new Set([
  'then',
  'onModuleInit',
  'onApplicationBootstrap',
  'onModuleDestroy',
  'beforeApplicationShutdown',
  'onApplicationShutdown',
]);

function standIn(key: Key): object {
  return new Proxy(
    // A search for decorated methods in all providers, as that of `@nestjs/schedule`, skips one without a prototype.
    Object.create(null) as object,
    {
      get: (_none, name) => {
        if (name === 'constructor') return Object;
        if (typeof name === 'symbol' || ASKED_BY_NEST.has(name)) return undefined;
        const instance = resolveCurrent(key) as object;
        const value: unknown = Reflect.get(instance, name, instance);
        // The instance may have private fields, which the stand-in has not.
        return typeof value === 'function' ? (value.bind(instance) as unknown) : value;
      },
      set: (_none, name, value) => Reflect.set(resolveCurrent(key) as object, name, value),
      has: (_none, name) => name in (resolveCurrent(key) as object),
    },
  );
}
