package main

import (
	"go/ast"
	"go/token"
)

// exported counts the exported names that a file declares.
func exported(file *ast.File) (n names) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			switch {
			case !d.Name.IsExported():
			case d.Recv == nil:
				n.funcs++
			case ast.IsExported(receiver(d)):
				n.methods++
			}
		case *ast.GenDecl:
			n.add(exportedSpecs(d))
		}
	}
	return n
}

func exportedSpecs(d *ast.GenDecl) (n names) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() {
				n.types++
				n.add(exportedMembers(spec.Type))
			}
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				switch {
				case !name.IsExported():
				case d.Tok == token.CONST:
					n.consts++
				default:
					n.vars++
				}
			}
		}
	}
	return n
}

// exportedMembers counts the exported fields of a struct, also of structs
// without a name in it, and the exported methods of an interface.
func exportedMembers(e ast.Expr) (n names) {
	switch e := e.(type) {
	case *ast.StructType:
		for _, field := range e.Fields.List {
			for _, name := range field.Names {
				if name.IsExported() {
					n.fields++
					n.add(exportedMembers(field.Type))
				}
			}
		}
	case *ast.InterfaceType:
		for _, method := range e.Methods.List {
			for _, name := range method.Names {
				if name.IsExported() {
					n.methods++
				}
			}
		}
	}
	return n
}
