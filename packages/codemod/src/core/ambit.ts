import { type ExportSpecifier, type Identifier, Node } from 'ts-morph';
import type { Program } from './model.js';
import type { Rewriter } from './rewriter.js';

/** The container of the application. */
export const newContainer = (rewriter: Rewriter): string =>
  `new ${rewriter.use('Container')}({ tags: [${rewriter.style.string('application')}] })`;

/** The call that opens the scope of a request, after the name of its parent and a dot. */
export const createRequestScope = (rewriter: Rewriter): string =>
  `createScope({ tags: [${rewriter.style.string('request')}] })`;

/** The global container of the library becomes that of a module of the program. Returns whether the name is one. */
export function convertGlobal(rewriter: Rewriter, node: Identifier, program: Program, ...globals: string[]): boolean {
  if (node.getFirstAncestor(Node.isImportDeclaration) || !rewriter.names(node, ...globals)) return false;
  const parent = node.getParent();
  if (Node.isBindingElement(parent)) return false;
  if (Node.isExportSpecifier(parent)) {
    if (parent.getNameNode() === node) convertExport(rewriter, parent, program);
    return true;
  }
  // A module of the program that exports it also registers services: its import stays.
  if (!rewriter.origins.isDirect(node)) {
    rewriter.keep(node);
    return true;
  }
  const used = rewriter.use('container', program.globalModule);
  rewriter.replace(node, Node.isShorthandPropertyAssignment(parent) ? `${node.getText()}: ${used}` : used);
  rewriter.consume(node);
  return true;
}

function convertExport(rewriter: Rewriter, specifier: ExportSpecifier, program: Program): void {
  const declaration = specifier.getExportDeclaration();
  const module = declaration.getModuleSpecifier();
  if (module) {
    if (declaration.getNamedExports().length > 1 || !rewriter.origins.isLibrary(module.getLiteralValue())) return;
    rewriter.replace(module, rewriter.style.string(rewriter.style.relative(program.globalModule)));
  } else if (rewriter.origins.isDirect(specifier.getNameNode()))
    rewriter.replace(specifier.getNameNode(), rewriter.use('container', program.globalModule));
  else return;
  rewriter.consume(specifier);
}

/** The type of a key whose service is a `T`, where the library had `Token<T>`. */
export function keyType(rewriter: Rewriter, reference: Node): string {
  const [service] = Node.isTypeReference(reference) ? reference.getTypeArguments() : [];
  if (!service) return rewriter.useType('Key');
  const type = `string | symbol | ${rewriter.useType('AbstractClass')}<${rewriter.text(service)}>`;
  return Node.isArrayTypeNode(reference.getParent()) ? `(${type})` : type;
}

/** The key in a list of keys: every service of it. */
export const all = (rewriter: Rewriter, key: string): string => `${rewriter.use('all')}(${key})`;

/** The key in a list of keys: the service, or undefined. */
export const optional = (rewriter: Rewriter, key: string): string => `${rewriter.use('optional')}(${key})`;

/** One instance for the container that the service is registered in. */
export const singleton = (rewriter: Rewriter): string => `${rewriter.use('singleton')}()`;

/** The modifiers of one instance for each scope, the container of the application included. */
export const scoped = (rewriter: Rewriter): string[] => [singleton(rewriter), `${rewriter.use('scope')}(() => true)`];

/** How to say more than `scoped` does. */
export const SCOPED =
  "one instance for each scope, as before: with scope(hasTag('request')) in place of scope(() => true), verify() finds what keeps it longer than a request";

/** How a service is made, as an argument of `Registration`: `fromClass(Users)`. */
export interface Service {
  readonly source: string;
  readonly modifiers: readonly string[];
}

/** `Registration.fromClass(Users).pipe(singleton()).to('users')`; without `.to` where the class is the key. */
export const registration = (rewriter: Rewriter, { source, modifiers }: Service, key: string | undefined): string =>
  `${rewriter.use('Registration')}.${source}${suffix(modifiers, key)}`;

/** `.pipe(singleton()).to('users')`, after the beginning of a registration. */
function suffix(modifiers: readonly string[], key: string | undefined): string {
  const piped = modifiers.length > 0 ? `.pipe(${modifiers.join(', ')})` : '';
  return key === undefined ? piped : `${piped}.to(${key})`;
}

/** `addRegistration(...)`, with each of several registrations on a line of its own. */
export function addRegistration(registrations: readonly string[], indent: string): string {
  const list =
    registrations.length === 1
      ? registrations.join('')
      : `\n${registrations.map((one) => `${indent}  ${one.replaceAll('\n', `\n${indent}  `)},\n`).join('')}${indent}`;
  return `addRegistration(${list})`;
}
