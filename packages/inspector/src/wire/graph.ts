export interface GraphBox {
  readonly id: string;
  readonly tags: string;
  readonly parent?: string;
}

export interface ServiceNode {
  readonly id: string;
  readonly box: string;
  readonly key: string;
  readonly kind: 'alias' | 'class' | 'factory' | 'missing' | 'register' | 'value';
  readonly singleton: boolean;
  /** The feature that registered it. */
  readonly feature?: string;
}

export interface ServiceEdge {
  readonly from: string;
  readonly to: string;
  readonly kind: 'all' | 'lazy' | 'one' | 'optional';
  readonly problem: boolean;
}

export interface GraphProblem {
  readonly code: string;
  readonly message: string;
  /** The nodes it is about. */
  readonly nodes: readonly string[];
}

export interface GraphView {
  readonly boxes: readonly GraphBox[];
  readonly nodes: readonly ServiceNode[];
  readonly edges: readonly ServiceEdge[];
  readonly problems: readonly GraphProblem[];
}
