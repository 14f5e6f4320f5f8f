// The tools that also misbehave inside the service: everything that can be thrown and returned.
import { createMisbehavingTools } from '../misbehaving-tools.ts';

export const tools = createMisbehavingTools();
