import { AuditEvent } from '@recourse/decide/audit/audit-event';
import * as z from 'zod';

/** The JSON Schema of one audit line, for whoever reads them. It takes members of later versions, as readers should. */
export const createAuditSchema = (): object => ({
  $id: 'urn:recourse:audit:1',
  title: 'AuditEvent',
  ...z.toJSONSchema(AuditEvent, {
    override: ({ jsonSchema }) => {
      delete jsonSchema.additionalProperties;
    },
  }),
});
