// What the packages export, as the compiler sees it, with what their documentation comments say.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript-6.0';
import { entryPointsOf } from '../entry-points.mjs';
import { Reader } from './reader.mjs';

/**
 * @typedef {object} Doc
 * @property {string} summary
 * @property {Map<string, string>} params
 * @property {string} returns
 * @property {string[]} throws
 * @property {string[]} examples
 * @property {string | undefined} deprecated
 */
/**
 * @typedef {object} Signature one way to call a function, or to construct an instance
 * @property {readonly string[]} params their names
 * @property {boolean} hasResult
 * @property {string} text its declaration without the body
 */
/**
 * @typedef {object} Symbol
 * @property {string} name
 * @property {'function' | 'class' | 'interface' | 'type' | 'value' | 'constructor' | 'method' | 'property'} kind
 * @property {Doc} doc
 * @property {Signature[]} signatures of a function, a method or a constructor
 * @property {string} text the declaration; of a class or an interface, without its members
 * @property {Symbol[]} members
 * @property {boolean} canThrow a `throw` can be reached from its body within its package
 * @property {readonly string[]} mentions the names of the types in its declaration
 * @property {string} file
 * @property {number} line
 */
/**
 * @typedef {object} EntryPoint
 * @property {string} name what a program imports
 * @property {Symbol[]} symbols what is documented here; what two entry points export is documented at the first
 * @property {readonly string[]} values the names that exist when the program runs, those of other packages included
 */

const OPTIONS = {
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2024,
  lib: ['lib.es2024.d.ts', 'lib.esnext.disposable.d.ts', 'lib.dom.d.ts'],
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
  noEmit: true,
};

/** @param {string} root of the workspace @returns {EntryPoint[]} of every published package, in the order of its manifest */
export function readApi(root) {
  const packages = readdirSync(join(root, 'packages')).flatMap((name) => {
    const folder = join(root, 'packages', name);
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return manifest.private ? [] : [{ folder, entries: entriesOf(folder, manifest) }];
  });
  const program = ts.createProgram(
    packages.flatMap(({ entries }) => entries.map(({ file }) => file)),
    OPTIONS,
  );
  return packages.flatMap(({ folder, entries }) => {
    const files = entries.map(({ file }) => program.getSourceFile(file));
    const reader = new Reader(program.getTypeChecker(), folder, files);
    return entries.map(({ name }, i) => ({
      name,
      symbols: reader.exportsOf(files[i]),
      values: reader.valuesOf(files[i]),
    }));
  });
}

/** @param {string} folder @param {import('../entry-points.mjs').Manifest} manifest */
function entriesOf(folder, manifest) {
  return entryPointsOf(manifest).map(({ specifier, types }) => ({ name: specifier, file: sourceOf(folder, types) }));
}

/** @param {string} folder @param {string} types */
const sourceOf = (folder, types) => join(folder, types.replace('./dist/', 'src/').replace(/\.d\.ts$/, '.ts'));
