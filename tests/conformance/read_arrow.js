// Prints an Arrow IPC file as JSON, one line per row, as the npm package apache-arrow reads it: what we write, seen by
// somebody else. Usage: node read_arrow.js FILE [DIRECTORY with node_modules]
'use strict';

const fs = require('fs');
const path = require('path');
const where = process.argv[3] ? path.join(process.argv[3], 'x.js') : __filename;
const arrow = require('module').createRequire(where)('apache-arrow');

function plain(value) {
  if (value === null || value === undefined) return null;
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number') return Number.isNaN(value) ? 'NaN' : value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (value instanceof arrow.MapRow) return Object.fromEntries([...value].map(([k, v]) => [k, plain(v)]));
  if (value instanceof arrow.Vector) return [...value].map(plain);
  return value;
}

if (process.argv[2]) {
  const table = arrow.tableFromIPC(fs.readFileSync(process.argv[2]));
  console.log(JSON.stringify(Object.fromEntries(table.schema.fields.map((f) => [f.name, f.type.toString()]))));
  for (let i = 0; i < table.numRows; ++i) {
    console.log(JSON.stringify(Object.fromEntries(
        table.schema.fields.map((f) => [f.name, plain(table.getChild(f.name).get(i))]))));
  }
}
