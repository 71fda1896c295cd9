import { Node } from 'ts-morph';
import type { Library } from '../core/library.js';
import { ADVICE, COMPANIONS } from './advice.js';
import { convertCall } from './calls.js';
import { convertClass } from './classes.js';
import { convertContainer, listParent } from './containers.js';
import { convertContext } from './context.js';
import { isSingletonByDefault } from './default-scope.js';
import { convertModule } from './modules.js';
import { convertType } from './types.js';

const MODULES = ['inversify', '@inversifyjs/core', '@inversifyjs/container'];

/** Converts programs of inversify. */
export const inversify: Library = {
  name: 'inversify',
  modules: MODULES,
  companions: COMPANIONS,
  advice: ADVICE,
  containers: {
    values: [],
    creators: ['Container'],
    types: ['Container', 'interfaces.Container'],
    methods: ['createChild'],
  },
  convert(rewriter, program) {
    const isSingleton = isSingletonByDefault(program, MODULES);
    for (const node of rewriter.file.getDescendants().toReversed()) {
      if (Node.isCallExpression(node)) convertCall(rewriter, node, isSingleton);
      else if (Node.isNewExpression(node)) {
        convertContainer(rewriter, node);
        convertModule(rewriter, node);
      } else if (Node.isClassDeclaration(node)) convertClass(rewriter, node);
      else if (Node.isPropertyAccessExpression(node)) {
        listParent(rewriter, node);
        convertContext(rewriter, node);
      } else if (Node.isTypeReference(node)) convertType(rewriter, node);
    }
  },
};
