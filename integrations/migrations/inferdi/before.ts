import { Container } from '@inferdi/inferdi';
import { type Application, AuditTrail, config, Pool, UserRepository, UserService } from '../users.js';

export async function start(): Promise<Application> {
  const log: string[] = [];
  const container = new Container()
    .registerValue('config', config)
    .registerValue('log', log)
    .registerClass('pool', Pool, ['config', 'log'])
    .registerClass('audit', AuditTrail, ['log'], 'scoped')
    .registerClass('users', UserRepository, ['pool', 'audit'], 'scoped')
    .registerClass('service', UserService, ['users', 'audit'], 'scoped');

  async function inRequest<T>(work: (service: UserService) => Promise<T>): Promise<T> {
    const request = container.createScope();
    try {
      return await work(request.get('service'));
    } finally {
      await request.dispose();
    }
  }
  return {
    log,
    createUser: (name) => inRequest((service) => service.create(name)),
    listUsers: () => inRequest((service) => service.list()),
    stop: () => container.dispose(),
  };
}
