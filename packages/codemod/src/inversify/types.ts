import type { Node, TypeReferenceNode } from 'ts-morph';
import { keyType } from '../core/ambit/keys.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';

/** Converts a type of inversify. */
export function convertType(rewriter: Rewriter, reference: TypeReferenceNode): void {
  const name = reference.getTypeName();
  const become = (node: Node, text: string) => {
    rewriter.replace(node, text);
    rewriter.done('type', name);
  };
  switch (rewriter.origin(name)) {
    case 'interfaces.Context':
    case 'ResolutionContext':
      become(reference, rewriter.useType('IContainer'));
      return;
    case 'Container':
    case 'interfaces.Container':
      become(reference, rewriter.useType('Container'));
      return;
    case 'ServiceIdentifier':
    case 'interfaces.ServiceIdentifier':
      become(reference, keyType(rewriter, reference));
      return;
    case 'Newable':
    case 'interfaces.Newable':
      become(name, rewriter.useType('Class'));
      return;
    case undefined:
    default:
  }
}
