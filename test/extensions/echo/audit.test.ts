import { type Arrangements, callOnce, describeAudit } from '@recourse/test-support/audit-lab.ts';
import { AUDIT } from './audit-rows.ts';

const ARRANGEMENTS: Arrangements = {
  'echo: `text` is no text': async ({ bare }) => callOnce(await bare(), 'echo', { text: 5 }),
};

describeAudit({
  audit: AUDIT,
  situations: { echo: ['malformed parameter'] },
  arrangements: ARRANGEMENTS,
});
