import * as z from 'zod';

const OptionalParameter = z.looseObject({
  in: z.enum(['query', 'header']),
  required: z.literal(false),
  schema: z.looseObject({}),
  example: z.unknown().refine((example) => example !== undefined),
});

/**
 * A document whose optional parameters have their examples in their schemas. Swagger UI fills the example of a parameter in,
 * and would ask for the tools of one provider where a person only wants to see the tools.
 */
export const withExamplesInSchemas = <Document extends object>(document: Document): Document =>
  JSON.parse(JSON.stringify(document), (_key, value: unknown) => {
    const parameter = OptionalParameter.safeParse(value).data;
    if (parameter === undefined) return value;
    const { example, schema, ...rest } = parameter;
    return { ...rest, schema: { ...schema, examples: [example] } };
  });
