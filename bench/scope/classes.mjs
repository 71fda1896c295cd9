/** The services every contestant builds. A parameter is named after the key it receives: one peer reads those names. */

export class Config {}
export class Pool {
  constructor(config) {
    this.config = config;
  }
}
export class Log {
  constructor(config) {
    this.config = config;
  }
}

export class Context {
  constructor(config) {
    this.config = config;
  }
}
/** A `Context` that has something to dispose. */
export class DisposableContext {
  constructor(config) {
    this.config = config;
    this.disposals = 0;
  }
  async dispose() {
    this.disposals++;
  }
}
export class Users {
  constructor(pool, context) {
    this.pool = pool;
    this.context = context;
  }
}
export class Audit {
  constructor(log, context) {
    this.log = log;
    this.context = context;
  }
}

/** The diamond chain: each depends on the two before it. */
export class D0 {}
export class D1 {
  constructor(d0) {
    this.previous = d0;
  }
}
export class D2 {
  constructor(d0, d1) {
    this.previous = d1;
    this.beforeThat = d0;
  }
}
export class D3 {
  constructor(d1, d2) {
    this.previous = d2;
    this.beforeThat = d1;
  }
}
export class D4 {
  constructor(d2, d3) {
    this.previous = d3;
    this.beforeThat = d2;
  }
}
export class D5 {
  constructor(d3, d4) {
    this.previous = d4;
    this.beforeThat = d3;
  }
}
export class D6 {
  constructor(d4, d5) {
    this.previous = d5;
    this.beforeThat = d4;
  }
}
export class D7 {
  constructor(d5, d6) {
    this.previous = d6;
    this.beforeThat = d5;
  }
}
export class D8 {
  constructor(d6, d7) {
    this.previous = d7;
    this.beforeThat = d6;
  }
}
export class D9 {
  constructor(d7, d8) {
    this.previous = d8;
    this.beforeThat = d7;
  }
}
export class D10 {
  constructor(d8, d9) {
    this.previous = d9;
    this.beforeThat = d8;
  }
}
export class D11 {
  constructor(d9, d10) {
    this.previous = d10;
    this.beforeThat = d9;
  }
}
export class D12 {
  constructor(d10, d11) {
    this.previous = d11;
    this.beforeThat = d10;
  }
}
export class D13 {
  constructor(d11, d12) {
    this.previous = d12;
    this.beforeThat = d11;
  }
}
export class D14 {
  constructor(d12, d13) {
    this.previous = d13;
    this.beforeThat = d12;
  }
}
export class D15 {
  constructor(d13, d14) {
    this.previous = d14;
    this.beforeThat = d13;
  }
}
export class D16 {
  constructor(d14, d15) {
    this.previous = d15;
    this.beforeThat = d14;
  }
}
export class D17 {
  constructor(d15, d16) {
    this.previous = d16;
    this.beforeThat = d15;
  }
}
export class D18 {
  constructor(d16, d17) {
    this.previous = d17;
    this.beforeThat = d16;
  }
}
export class D19 {
  constructor(d17, d18) {
    this.previous = d18;
    this.beforeThat = d17;
  }
}

/** @type {(new (...deps: object[]) => object)[]} */
export const chain = [D0, D1, D2, D3, D4, D5, D6, D7, D8, D9, D10, D11, D12, D13, D14, D15, D16, D17, D18, D19];
