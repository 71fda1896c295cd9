import { currentScope } from '@ambit/container';
import { Transactional } from '@ambit/nest';
import { Body, Controller, Injectable, Post } from '@nestjs/common';

@Injectable()
export class OrdersService {
  // Without `strictNullChecks` the scope has a type all the same.
  async place(product: string): Promise<object> {
    return { product, mail: currentScope(undefined)?.resolve<string>('IMail') ?? 'none' };
  }
}

@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post()
  @Transactional()
  place(@Body() product: string): Promise<object> {
    return this.orders.place(product);
  }
}
