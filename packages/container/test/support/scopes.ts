import { Container, hasTag, MetadataInjector, scope, type Binding } from '../../src/index.js';

export const openApplication = (...registrations: Binding[]): Container =>
  new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(...registrations);

export const openRequest = (parent: Container): Container => parent.createScope({ tags: ['request'] });

export const openTransaction = (parent: Container): Container => parent.createScope({ tags: ['transaction'] });

/** A modifier: the registration applies in requests only. */
export const perRequest = scope(hasTag('request'));

/** The same for transactions. */
export const perTransaction = scope(hasTag('transaction'));
