import { Container, type IContainer } from '@ambit/container';
import { drainScopes, inScope, type InScopeOptions, type ScopeOf } from '@ambit/container/work';

const app = new Container();
export const foreign = (container: IContainer): Promise<string> =>
  inScope(container, {}, (scope) => scope.resolve<string>('IName'));

// The work gets what the container opens, and the caller what the work returns.
export const scope: Promise<Container> = inScope(app, { tags: ['job'] }, (job) => job);
export const length: Promise<number> = inScope(app, {}, async (job) => job.tags.length);
export const options: InScopeOptions<Container> = { register: (job: ScopeOf<Container>) => job.addRegistration() };
export const stillRunning: Promise<number> = drainScopes(app, { timeoutMs: 1, abortTimeoutMs: 1 });

// error: 'addRegistration' does not exist on type 'IContainer'
export const narrow = (container: IContainer) => inScope(container, {}, (job) => job.addRegistration());

// error: Type 'string' is not assignable to type 'readonly string[]'
void inScope(app, { tags: 'job' }, () => 1);

// error: is not assignable to type 'Promise<string>'
export const wrong: Promise<string> = inScope(app, {}, () => 1);

// error: Type 'string' is not assignable to type 'number'
void drainScopes(app, { timeoutMs: '5s' });
