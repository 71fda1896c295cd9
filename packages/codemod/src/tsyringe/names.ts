import { Node, type Identifier } from 'ts-morph';
import { convertGlobal } from '../core/ambit/global.js';
import { keyType } from '../core/ambit/keys.js';
import type { Program } from '../core/model.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';
import { isOfFactory } from './factories.js';

/** Converts the global container and the types of a container and of a token. */
export function convertName(rewriter: Rewriter, node: Identifier, program: Program): void {
  if (node.getFirstAncestor(Node.isImportDeclaration)) return;
  const name = rewriter.origin(node);
  const parent = node.getParent();
  if (convertGlobal(rewriter, node, program, 'container') || Node.isExportSpecifier(parent)) return;
  if (name === 'DependencyContainer') {
    rewriter.replace(node, rewriter.useType(isOfFactory(node) ? 'IContainer' : 'Container'));
    rewriter.done('type of the container', node);
  } else if (name === 'InjectionToken') {
    const reference = Node.isTypeReference(parent) ? parent : node;
    rewriter.replace(reference, keyType(rewriter, reference));
    rewriter.done('type of a token', node);
  }
}
