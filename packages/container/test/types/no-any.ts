import * as container from '@ambit/container';
import * as tools from '@ambit/container/tools';
import { Container, type Recipe, type Registration } from '@ambit/container';
import { exactly } from './services.js';

// `any` in what is public would switch off the checks of those who use it.
type IsAny<T> = 0 extends 1 & T ? true : false;
type Results<T> = { [K in keyof T]: T[K] extends (...args: never[]) => infer R ? R : T[K] };
type AnyIn<T> = { [K in keyof T]-?: IsAny<T[K]> extends true ? K : never }[keyof T];

declare const none: never;
exactly<AnyIn<Results<typeof container>>>()(none)(true);
exactly<AnyIn<Results<typeof tools>>>()(none)(true);
exactly<AnyIn<Results<Container>>>()(none)(true);
exactly<AnyIn<Results<container.IContainer>>>()(none)(true);
exactly<AnyIn<Results<Registration<unknown>>>>()(none)(true);
exactly<AnyIn<Results<typeof container.Registration>>>()(none)(true);
exactly<AnyIn<container.ContainerError>>()(none)(true);
exactly<AnyIn<container.Failure>>()(none)(true);
exactly<AnyIn<Recipe>>()(none)(true);
exactly<AnyIn<container.Binding>>()(none)(true);
exactly<IsAny<container.Delivered<'IAnything'>>>()(false as const)(true);
