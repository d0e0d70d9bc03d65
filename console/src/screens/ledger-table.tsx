import type { ReactNode } from 'react'
import type { Desk, Operation } from '../desk.ts'
import { amount, Time } from '../format.tsx'
import { Badge, OperationLink, OwnerLink, QuotaLink, Table } from '../parts.tsx'

/** Operations as rows. @param quotaId tells what that quota paid of each, and leaves out what is the same everywhere */
export function LedgerTable({
  desk,
  rows,
  quotaId,
  last,
}: {
  desk: Desk
  rows: readonly Operation[]
  quotaId?: number
  last?: { head: string; cell: (operation: Operation) => ReactNode }
}): ReactNode {
  const paid = (operation: Operation): number =>
    operation.allocations.find((one) => one.quotaId === quotaId)?.amount ?? 0
  return (
    <Table
      caption="Operations, newest first"
      rows={rows}
      idOf={({ id }) => id}
      columns={[
        { head: 'Operation', cell: ({ id }) => <OperationLink channel={desk.name} id={id} row />, className: 'id' },
        { head: 'When', cell: ({ createdAt }) => <Time at={createdAt} exact /> },
        { head: 'State', cell: ({ state }) => <Badge status={state} /> },
        { head: 'Amount', cell: (operation) => amount(operation.amount), className: 'number' },
        ...(quotaId === undefined
          ? [
              {
                head: 'Paid by',
                cell: ({ allocations }: Operation) => (
                  <ul className="inline">
                    {allocations.map((one) => (
                      <li key={one.quotaId}>
                        <QuotaLink channel={desk.name} id={one.quotaId} />{' '}
                        <span className="muted">{amount(one.amount)}</span>
                      </li>
                    ))}
                  </ul>
                ),
              },
            ]
          : [
              { head: 'Of this quota', cell: (operation: Operation) => amount(paid(operation)), className: 'number' },
              { head: desk.Owner, cell: ({ owner }: Operation) => <OwnerLink channel={desk.name} owner={owner} /> },
            ]),
        {
          head: 'Refunded',
          cell: ({ refunded }) => (refunded === 0 ? <span className="muted">–</span> : amount(refunded)),
          className: 'number',
        },
        ...(last === undefined ? [] : [last]),
      ]}
    />
  )
}
