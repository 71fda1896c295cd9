// `@ambit/container` as a program in the playground gets it: the page can see the containers that the program makes.
import { Container as Real } from '@ambit/container';
import { verify as realVerify, type ScopeDeclaration } from '@ambit/container/tools';

type Listener = (container: Real, declared: readonly ScopeDeclaration[]) => void;

let listener: Listener = () => {};
export const onContainer = (listen: Listener): void => void (listener = listen);

export const Container = new Proxy(Real, {
  construct(target, args: [], newTarget) {
    const container = Reflect.construct(target, args, newTarget) as Real;
    listener(container, []);
    return container;
  },
});

export const verify: typeof realVerify = (container, ...scopes) => {
  listener(container, scopes);
  realVerify(container, ...scopes);
};
