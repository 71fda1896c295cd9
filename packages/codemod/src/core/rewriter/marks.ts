export const AMBIT = '@ambit/container';

/** Stands for an imported name until all names of the file are known. */
export const MARK = /\uE000(type )?([^\uE001|]+)\|([^\uE001]+)\uE001/g;

/** Stands for an export of the module. */
export const markOf = (name: string, from: string): string => `\uE000${name}|${from}\uE001`;

/** Stands for a type of Ambit. */
export const markOfType = (name: string): string => markOf(`type ${name}`, AMBIT);
