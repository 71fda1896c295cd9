export { instancesOf } from './ownership.js';
export { alike } from './problems.js';
export { explain, type Explanation, type Verdict } from './explain.js';
export { graph, toMermaid, type AbsentDependency, type Graph, type GraphEdge, type GraphNode } from './graph.js';
export { expectNoOpenScopes, observeCreations, openScopes, trackScopes } from './events.js';
export { verify, type ScopeDeclaration, type VerifyOptions } from './verify.js';
export { override } from './override.js';
