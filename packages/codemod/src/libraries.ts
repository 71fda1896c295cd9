import type { Library } from './core/model.js';
import { awilix } from './awilix.js';
import { inversify } from './inversify.js';
import { tsyringe } from './tsyringe.js';

const ALL: readonly Library[] = [awilix, tsyringe, inversify];

/**
 * What the codemod knows of a library.
 * @param name the name of its package
 * @returns it, or undefined for a library that it does not know
 * @example
 * ```ts
 * libraryNamed('inversify')?.modules; // ['inversify', '@inversifyjs/core', '@inversifyjs/container']
 * libraryNamed('typedi'); // undefined
 * ```
 */
export const libraryNamed = (name: string | undefined): Library | undefined => ALL.find((one) => one.name === name);
